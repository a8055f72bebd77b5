/*
 * draw.c - definitions: dtypes, expressions, and the cases made of them.
 *
 * Rule: `definition` draws what kernels are made of, `view` everything that calls of one kernel
 * differ in. Cases that share a definition share its kernels as far as their layouts allow.
 */
#include "draw.h"

#include <string.h>

kiln_dtype dt_draw_dtype(dt_random *r)
{
    static const kiln_dtype often[] = {KILN_FLOAT32, KILN_INT32, KILN_FLOAT64, KILN_INT64};
    return dt_once_in(r, 4) ? often[dt_below(r, 4)] : (kiln_dtype)(1 + dt_below(r, 17));
}

dt_fill dt_draw_fill(dt_random *r)
{
    const int draw = dt_below(r, 10);
    return draw < 5 ? DT_FILL_SMALL : draw < 8 ? DT_FILL_UNIFORM : DT_FILL_SPECIAL;
}

/* ---- expressions in snippets ----------------------------------------------------------------- */

/* A node of the dtype, which `not_this` is not if there is another, preferably one that nobody
 * uses yet; -1 when there is none. */
static int node_of(dt_random *r, const dt_case *c, kiln_dtype dtype, int not_this)
{
    bool used[DT_NODES] = {false};
    int found = -1, best = -1;

    for (int k = 0; k < c->node_count; k++)
        for (int j = 0; j < dt_operands_of(c, c->node[k].op); j++)
            used[c->node[k].in[j]] = true;
    for (int k = 0; k < c->node_count; k++) {
        if (c->node[k].dtype != dtype || c->node[k].op == DT_CONSTANT)
            continue;
        const int score = (k == not_this ? 0 : 8) + (used[k] ? 0 : 3) + dt_below(r, 6);
        if (score > best) {
            best = score;
            found = k;
        }
    }
    return found;
}

static int add_constant(dt_random *r, dt_case *c, kiln_dtype dtype)
{
    const int k = dt_add_node(c, DT_CONSTANT, 0, 0, 0);
    const double number = dt_below(r, 9) - (dt_is_integer(dtype) && !dt_is_signed(dtype) ? 0 : 4);

    c->node[k].dtype = dtype;
    c->node[k].number = dt_is_integer(dtype) || dt_once_in(r, 2) ? number : number / 4 + 0.125;
    return k;
}

static int add_cast(dt_case *c, int from, kiln_dtype dtype)
{
    const int k = dt_add_node(c, DT_CAST, from, 0, 0);
    c->node[k].dtype = dtype;
    return k;
}

/* Another operand of that dtype: a node, a constant, or something converted. */
static int partner(dt_random *r, dt_case *c, kiln_dtype dtype, int beside)
{
    const bool complex = dt_is_complex(dtype);

    if (!complex && dtype != KILN_BOOL && dt_once_in(r, 5))
        return add_constant(r, c, dtype);
    if (!complex && dt_once_in(r, 6)) {
        const int from = dt_below(r, c->node_count);
        if (c->node[from].op != DT_CONSTANT && !dt_is_complex(c->node[from].dtype))
            return add_cast(c, from, dtype);
    }
    return node_of(r, c, dtype, beside);
}

/* What a snippet knows of its element. */
static void add_place(dt_random *r, dt_case *c)
{
    const int how = dt_below(r, 3);
    const int k = dt_add_node(c, how == 0 ? DT_INDEX : DT_POSITION, 0, 0, 0);

    c->node[k].dtype = KILN_INT64;
    c->node[k].axis_count = how == 0;
    c->node[k].axis[0] = how == 0 ? dt_below(r, 2) : 0;
}

/* A raw operand, and an element of it at an index that is a position or a whole number. */
static void add_raw(dt_random *r, dt_case *c)
{
    const int from = dt_below(r, c->node_count);
    const kiln_dtype dtype = c->node[from].dtype;
    int index = from;

    if (dtype == KILN_BOOL || !dt_is_integer(dtype) || c->node[from].op == DT_CONSTANT) {
        index = dt_add_node(c, DT_POSITION, 0, 0, 0);
        c->node[index].dtype = KILN_INT64;
    } else if (dtype != KILN_INT64) {
        index = add_cast(c, from, KILN_INT64);
    }
    const int operand = dt_add_operand(c, c->node[0].dtype, c->operand[0].fill, dt_next(r));
    c->operand[operand].is_raw = true;
    const int node = dt_add_node(c, DT_RAW, index, 0, 0);
    c->node[node].operand = operand;
    c->node[node].dtype = c->node[0].dtype;
}

/* An operand that is taken by an input of whole numbers, and its element. */
static void add_taken(dt_random *r, dt_case *c)
{
    const kiln_dtype dtype = dt_draw_dtype(r);
    int index = -1;

    for (int k = 0; k < c->node_count; k++)
        if (c->node[k].op == DT_INPUT && strchr("iu", kiln_dtype_kind(c->node[k].dtype)) != NULL)
            index = k;
    if (index < 0)
        index = dt_add_input(r, c, (kiln_dtype)(KILN_INT8 + dt_below(r, 8)), dt_draw_fill(r));
    const int operand = dt_add_operand(c, dtype, dt_draw_fill(r), dt_next(r));
    c->operand[operand].is_raw = true;
    const int node = dt_add_node(c, DT_TAKEN, index, 0, 0);
    c->node[node].operand = operand;
    c->node[node].dtype = dtype;
    c->node[node].flags = dt_once_in(r, 2) ? KILN_INDEX_WRAP : KILN_INDEX_CLIP;
}

static void add_operation(dt_random *r, dt_case *c)
{
    const dt_op op = (dt_op)dt_below(r, DT_ELEMENTWISE_COUNT);
    const dt_op_row *row = &dt_ops[op];
    int a = dt_once_in(r, 2) ? c->node_count - 1 : dt_below(r, c->node_count), b = 0, d = 0;

    if (c->node[a].op == DT_CONSTANT)
        return;
    const kiln_dtype dtype = c->node[a].dtype;
    if (strchr(row->snippet_kinds, kiln_dtype_kind(dtype)) == NULL || row->snippet[0] == '\0')
        return;
    if (op == DT_CAST) {
        const kiln_dtype to = dt_draw_dtype(r);
        if (!dt_is_complex(to) && to != dtype && !dt_is_complex(dtype))
            add_cast(c, a, to);
        return;
    }
    if (row->operands > 1)
        b = partner(r, c, dtype, a);
    if (op == DT_WHERE) {
        d = b;
        b = a;
        a = node_of(r, c, KILN_BOOL, -1);
        if (a < 0)
            return;
    } else if (row->operands > 2) {
        d = partner(r, c, dtype, b);
    }
    if (row->operands == 2 && dt_once_in(r, 3)) {
        const int kept = a;
        a = b;
        b = kept;
    }
    const int k = dt_add_node(c, op, a, b, d);
    c->node[k].dtype = row->result == '?'   ? KILN_BOOL
                       : row->result == 'B' ? KILN_UINT8
                       : row->result == 'r' ? dt_part_of(dtype)
                                            : dtype;
}

int dt_draw_expression(dt_random *r, dt_case *c, int operations)
{
    const int want = c->node_count + operations;
    int last = c->node_count - 1;

    if (dt_once_in(r, 10))
        add_place(r, c);
    if (dt_once_in(r, 12) && c->kind != DT_KIND_ROW)
        add_raw(r, c);
    if (c->kind == DT_KIND_ELEMENTWISE && c->operand_count < DT_OPERANDS - 2 && dt_once_in(r, 6))
        add_taken(r, c);
    for (int tries = 0; tries < 200 && c->node_count < want && c->node_count < DT_NODES - 8;
         tries++)
        add_operation(r, c);
    for (int k = last; k < c->node_count; k++)
        if (c->node[k].op != DT_CONSTANT)
            last = k;
    return last;
}

/* ---- operands -------------------------------------------------------------------------------- */

int dt_add_input(dt_random *r, dt_case *c, kiln_dtype dtype, dt_fill fill)
{
    const int operand = dt_add_operand(c, dtype, fill, dt_next(r));
    const int node = dt_add_node(c, DT_INPUT, 0, 0, 0);

    c->node[node].operand = operand;
    c->node[node].dtype = dtype;
    return node;
}

static void add_inputs(dt_random *r, dt_case *c, int count)
{
    const kiln_dtype main = dt_draw_dtype(r), other = dt_draw_dtype(r);
    const dt_fill fill = dt_draw_fill(r);

    for (int k = 0; k < count; k++) {
        const kiln_dtype dtype = k > 0 && dt_once_in(r, 3) ? other : main;
        const int operand = c->node[dt_add_input(r, c, dtype, fill)].operand;
        if (k > 0 && !dt_is_complex(dtype) && dtype != KILN_BOOL && dt_once_in(r, 8)) {
            c->operand[operand].is_number = true;
            c->operand[operand].number = dt_below(r, 7);
        }
    }
}

void dt_draw_operand_shapes(dt_random *r, dt_case *c, int rank, const int64_t *shape)
{
    int whole = 0; /* this operand has the full shape */

    while (c->operand[whole].is_number)
        whole++;
    for (int k = 0; k < c->operand_count; k++) {
        dt_view *v = &c->operand[k].view;
        int skip = 0;

        v->rank = 0;
        if (c->operand[k].is_number)
            continue;
        if (c->operand[k].is_raw) {
            v->rank = 1 + dt_below(r, 2);
            for (int axis = 0; axis < v->rank; axis++)
                v->shape[axis] = dt_draw_extent(r, 65);
            continue;
        }
        if (k != whole && dt_once_in(r, 5))
            skip = dt_below(r, rank + 1);
        for (int axis = skip; axis < rank; axis++)
            v->shape[v->rank++] = k != whole && dt_once_in(r, 6) ? 1 : shape[axis];
    }
}

void dt_draw_operands(dt_random *r, dt_style style, dt_case *c)
{
    for (int k = 0; k < c->operand_count; k++) {
        dt_operand *o = &c->operand[k];
        if (o->is_number || o->view.buffer >= 0)
            continue;
        if (k > 0 && style != DT_STYLE_PLAIN && dt_once_in(r, 6) &&
            dt_share_view(c, &o->view, &c->operand[k - 1].view, dt_below(r, 4)))
            continue;
        dt_draw_view(r, style, true, c, &o->view);
    }
}

/* Over an input: in place, or shifted against it, which kiln must notice. */
static bool draw_in_place(dt_random *r, dt_case *c, int output)
{
    dt_view *v = &c->output[output].view;

    for (int k = 0; k < c->operand_count; k++) {
        const dt_operand *o = &c->operand[k];
        bool taken = o->is_number;
        for (int j = 0; j < output; j++)
            taken = taken || (c->output[j].given && c->output[j].view.buffer == o->view.buffer);
        if (taken || !dt_is_injective(&o->view))
            continue;
        if (dt_share_view(c, v, &o->view, dt_once_in(r, 3) ? dt_below(r, 5) : 0))
            return true;
    }
    return false;
}

void dt_draw_outputs(dt_random *r, dt_style style, dt_case *c)
{
    int rank = 0;
    int64_t shape[DT_RANK] = {0};

    if (c->kind == DT_KIND_ELEMENTWISE || c->kind == DT_KIND_ROW)
        dt_loop_shape(c, &rank, shape);
    for (int k = 0; k < c->output_count; k++) {
        const dt_node *n = &c->node[c->output[k].node];
        dt_view *v = &c->output[k].view;

        v->dtype = n->dtype;
        v->rank = dt_fills_loop(c, k) ? rank : n->rank;
        memcpy(v->shape, dt_fills_loop(c, k) ? shape : n->shape, sizeof v->shape);
        c->output[k].given = dt_below(r, 4) != 0 || style == DT_STYLE_ROWS || dt_uses(c, DT_OLD) ||
                             (c->pivot >= 0 && c->node[c->pivot].into != KILN_DTYPE_NONE);
        if (!c->output[k].given || (dt_once_in(r, style == DT_STYLE_ROWS ? 3 : 5) && draw_in_place(r, c, k)))
            continue;
        dt_draw_view(r, style, false, c, v);
    }
}

bool dt_draw_layouts(dt_random *r, dt_style style, dt_case *c)
{
    dt_draw_operands(r, style, c);
    if (dt_uses(c, DT_OLD)) { /* known before its dtype and shape are */
        c->output[0].given = true;
        c->output[0].view.dtype = c->node[c->output[0].node].dtype;
        dt_loop_shape(c, &c->output[0].view.rank, c->output[0].view.shape);
    }
    if (!dt_infer_nodes(c, NULL, 0))
        return false;
    dt_draw_outputs(r, style, c);
    return dt_infer(c, NULL, 0);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* z0 = z0 + ...: the output is read, so it must be given. */
static void add_old(dt_case *c)
{
    const int last = c->output[0].node;
    const kiln_dtype dtype = c->node[last].dtype;

    if (dtype == KILN_BOOL || c->node[last].op == DT_CONSTANT)
        return; /* noise is no bool */
    const int old = dt_add_node(c, DT_OLD, 0, 0, 0);
    c->node[old].dtype = dtype;
    c->output[0].node = dt_add_node(c, DT_ADD, old, last, 0);
    c->node[c->output[0].node].dtype = dtype;
}

/* Inputs that are one array, shifted by planes, rows and elements: what a GPU reads through windows, and on three axes
 * by blocks that march through eight planes and more. */
static void draw_stencil(dt_random *r, dt_case *c)
{
    const int rank = dt_once_in(r, 4) ? 2 : 3;
    const int64_t planes = dt_once_in(r, 3) ? 6 : 8 + dt_below(r, 12);
    const bool wide = dt_once_in(r, 3), even = dt_once_in(r, 2);
    const int64_t rows = wide ? 32 + dt_below(r, 12) : 5 + dt_below(r, 20);
    const int64_t columns = wide ? 512 + dt_below(r, 80) : 96 + dt_below(r, 80);
    const int64_t shape[] = {planes + dt_below(r, 3), rows, even ? columns / 16 * 16 : columns};
    const int64_t size = (int64_t)kiln_dtype_size(c->operand[0].view.dtype);
    dt_view whole = {.dtype = c->operand[0].view.dtype, .rank = rank};
    int64_t unit = size;

    for (int axis = rank - 1; axis >= 0; axis--) {
        whole.shape[axis] = shape[axis + 3 - rank] + 4;
        whole.stride[axis] = unit;
        unit *= whole.shape[axis] + (axis == rank - 1 ? dt_below(r, 5) : 0);
        if (axis == rank - 1 && dt_once_in(r, 2)) /* rows that begin alike */
            unit = (unit + 15) / 16 * 16;
    }
    dt_place_view(c, &whole, dt_below(r, 5));
    const int backwards = dt_once_in(r, 3) ? dt_below(r, rank - 1) : -1; /* this axis, from its other end */
    for (int k = 0; k < c->operand_count; k++) {
        dt_view *v = &c->operand[k].view;
        *v = whole;
        for (int axis = 0; axis < rank; axis++) {
            v->shape[axis] = shape[axis + 3 - rank];
            v->start += dt_below(r, axis == rank - 3 ? 3 : 5) * whole.stride[axis];
            if (axis == backwards) {
                v->start += (v->shape[axis] - 1) * v->stride[axis];
                v->stride[axis] = -v->stride[axis];
            }
        }
    }
}

bool dt_draw_elementwise(dt_case *c, dt_random definition, dt_random view)
{
    dt_random *r = &definition;
    const dt_style style = (dt_style)dt_below(r, DT_STYLE_COUNT);
    const bool stencil = dt_once_in(r, 12);
    int64_t shape[DT_RANK] = {0};

    add_inputs(r, c, stencil ? 1 : 1 + dt_below(r, 3));
    for (int k = dt_below(r, 4); stencil && k >= 0; k--)
        for (int j = 0; j < 2; j++)
            if (c->operand_count < DT_OPERANDS - 2)
                dt_add_input(r, c, c->operand[0].view.dtype, DT_FILL_SMALL);
    c->placeholders = dt_once_in(r, 2);
    c->output_count = dt_once_in(r, 5) ? 2 : 1;
    const bool adds_to_old = c->output_count == 1 && dt_once_in(r, 8);
    c->output[0].node = dt_draw_expression(r, c, 1 + dt_below(r, 7));
    if (adds_to_old)
        add_old(c);
    if (c->output_count == 2)
        c->output[1].node = dt_below(r, c->node_count);
    if (c->node[c->output[c->output_count - 1].node].op == DT_CONSTANT)
        c->output_count = 1;

    r = &view;
    const bool rows = style == DT_STYLE_ROWS && !stencil;
    const int rank = rows ? 2 + dt_below(r, 2) : dt_draw_rank(r);
    dt_draw_shape(r, rank, rows ? 60 : dt_draw_budget(r), shape);
    if (rows)
        shape[rank - 1] = dt_once_in(r, 3) ? dt_draw_extent(r, 1025) : 1 + dt_below(r, 600);
    dt_draw_operand_shapes(r, c, rank, shape);
    for (int k = 0; k < c->operand_count; k++)
        if (stencil && (c->operand[k].is_number || c->operand[k].is_raw))
            return dt_draw_layouts(r, style, c);
    if (stencil)
        draw_stencil(r, c);
    return dt_draw_layouts(r, stencil ? DT_STYLE_PLAIN : style, c);
}

/* Now and then prepare the call and launch it twice, which must not change what it reads; or make it
 * twice, on two streams. */
static void draw_manner(dt_case *c, dt_random *definition, dt_random *view)
{
    bool overlap = dt_uses(c, DT_OLD);

    c->as_text = c->kind == DT_KIND_GRAPH && dt_once_in(definition, 4);
    c->wide = c->kind == DT_KIND_GRAPH && dt_once_in(definition, 4);
    for (int k = 0; k < c->output_count; k++)
        for (int j = 0; j < c->operand_count; j++)
            overlap = overlap || (c->output[k].given && !c->operand[j].is_number &&
                                  c->output[k].view.buffer == c->operand[j].view.buffer);
    const bool can =
        dt_in_snippet(c) || c->kind == DT_KIND_GRAPH || (dt_in_family(c) && dt_can_prepare(c));
    c->prepared = can && !overlap && dt_once_in(view, 5);
    c->repeated = dt_once_in(view, 3) && !dt_is_unordered(c);
    c->imported = dt_once_in(view, 4);
    c->looped = c->kind == DT_KIND_ELEMENTWISE && dt_once_in(definition, 4);
    c->structured = (c->kind == DT_KIND_REDUCTION || c->kind == DT_KIND_SCANNED) &&
                    !c->has_initial && dt_once_in(definition, 4);
}

bool dt_draw(dt_case *c, dt_kind kind, uint64_t seed, uint64_t definition, uint64_t number)
{
    /* What turns out to be no valid case is drawn again: some times with other views, then another definition. */
    for (uint64_t attempt = 0; attempt < 60; attempt++) {
        const dt_random d =
            dt_random_of(seed, 2 * (uint64_t)kind, definition + (attempt / 6 << 40));
        const dt_random v = dt_random_of(seed, 2 * (uint64_t)kind + 1, number + (attempt << 40));
        bool ok;

        dt_case_init(c, kind);
        switch (kind) {
        case DT_KIND_ELEMENTWISE:
            ok = dt_draw_elementwise(c, d, v);
            break;
        case DT_KIND_REDUCTION:
            ok = dt_draw_reduction(c, d, v);
            break;
        case DT_KIND_REDUCE:
            ok = dt_draw_reduce(c, d, v);
            break;
        case DT_KIND_SCANNED:
        case DT_KIND_SCAN:
            ok = dt_draw_scan(c, d, v);
            break;
        case DT_KIND_GRAPH:
            ok = dt_draw_graph(c, d, v);
            break;
        case DT_KIND_ROW:
            ok = dt_draw_row(c, d, v);
            break;
        case DT_KIND_EAGER:
            ok = dt_draw_eager(c, d, v);
            break;
        default:
            ok = dt_draw_family(c, d, v);
        }
        if (ok) {
            dt_random manner[2] = {dt_random_of(seed, 100, definition),
                                   dt_random_of(seed, 101, number)};
            draw_manner(c, &manner[0], &manner[1]);
            return true;
        }
    }
    return false;
}
