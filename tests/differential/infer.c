/*
 * infer.c - what a program means before it has values: dtypes and shapes of all nodes.
 *
 * Also what makes a case valid at all: kiln must accept whatever passes here.
 */
#include <string.h>

#include "difftest.h"

const char *const dt_kind_names[DT_KIND_COUNT] = {"elementwise", "reduction", "reduce", "scanned",
                                                  "scan",        "graph",     "eager",  "row",
                                                  "gather",      "scatter",   "select", "sort", "rearrange", "product", "random"};
const char *const dt_fill_names[DT_FILL_COUNT] = {"small", "uniform", "special", "range", "rising",
                                                  "even"};

void dt_case_init(dt_case *c, dt_kind kind)
{
    memset(c, 0, sizeof *c);
    c->kind = kind;
    c->where = -1;
    c->pivot = -1;
}

int dt_add_operand(dt_case *c, kiln_dtype dtype, dt_fill fill, uint64_t salt)
{
    dt_operand *o = &c->operand[c->operand_count];

    memset(o, 0, sizeof *o);
    o->view.dtype = dtype;
    o->view.buffer = -1;
    o->fill = fill;
    o->salt = salt;
    return c->operand_count++;
}

int dt_add_node(dt_case *c, dt_op op, int a, int b, int d)
{
    dt_node *n = &c->node[c->node_count];

    memset(n, 0, sizeof *n);
    n->op = op;
    n->in[0] = a;
    n->in[1] = b;
    n->in[2] = d;
    return c->node_count++;
}

int64_t dt_size(int rank, const int64_t *shape)
{
    int64_t size = 1;

    for (int axis = 0; axis < rank; axis++)
        size *= shape[axis];
    return size;
}

bool dt_in_family(const dt_case *c)
{
    return c->kind >= DT_KIND_GATHER;
}

bool dt_in_snippet(const dt_case *c)
{
    return c->kind == DT_KIND_ELEMENTWISE || c->kind == DT_KIND_REDUCTION ||
           c->kind == DT_KIND_SCANNED || c->kind == DT_KIND_ROW;
}

bool dt_reads_operand(dt_op op)
{
    return op == DT_INPUT || op == DT_RAW || op == DT_TAKEN;
}

bool dt_fills_loop(const dt_case *c, int output)
{
    return c->kind == DT_KIND_ELEMENTWISE ||
           (c->kind == DT_KIND_ROW && c->node[c->output[output].node].op != DT_REDUCE);
}

int dt_operands_of(const dt_case *c, dt_op op)
{
    if (op < DT_ELEMENTWISE_COUNT)
        return dt_ops[op].operands;
    if (op == DT_INPUT || op == DT_CONSTANT || op == DT_POSITION || op == DT_OLD)
        return 0;
    return op == DT_INDEX && dt_in_snippet(c) ? 0 : 1;
}

bool dt_is_weak(const dt_case *c, const dt_node *n)
{
    return (n->op == DT_CONSTANT && n->weak) ||
           (n->op == DT_INPUT && c->kind == DT_KIND_GRAPH && c->operand[n->operand].is_number);
}

bool dt_uses(const dt_case *c, dt_op op)
{
    for (int k = 0; k < c->node_count; k++)
        if (c->node[k].op == op)
            return true;
    return false;
}

/* Broadcast `shape` of `rank` axes into the result's. */
static bool join(int *rank, int64_t *shape, int other_rank, const int64_t *other)
{
    while (*rank < other_rank) {
        memmove(shape + 1, shape, (size_t)*rank * sizeof *shape);
        shape[0] = 1;
        ++*rank;
    }
    for (int axis = 0; axis < other_rank; axis++) {
        int64_t *mine = &shape[*rank - other_rank + axis];
        if (*mine == 1)
            *mine = other[axis];
        else if (other[axis] != 1 && other[axis] != *mine)
            return false;
    }
    return true;
}

bool dt_is_summed_product(const dt_case *c, const dt_node *n)
{
    return c->kind == DT_KIND_REDUCE && n->op == DT_MULTIPLY;
}

static bool infer_elementwise(const dt_case *c, dt_node *n, const char **why)
{
    const int count = dt_ops[n->op].operands;
    kiln_dtype in[3], loop;
    bool weak[3], all_weak = true;

    n->rank = 0;
    for (int k = 0; k < count; k++) {
        const dt_node *o = &c->node[n->in[k]];
        in[k] = o->dtype;
        weak[k] = dt_is_weak(c, o);
        all_weak = all_weak && weak[k];
        *why = "operands do not broadcast";
        if (!join(&n->rank, n->shape, o->rank, o->shape))
            return false;
    }
    *why = "an operation without arrays";
    if (all_weak)
        return false;
    *why = "a conversion that snippets have not";
    if (n->op == DT_CAST)
        return n->dtype != KILN_DTYPE_NONE &&
               (!dt_in_snippet(c) || (!dt_is_complex(n->dtype) && !dt_is_complex(in[0])));
    *why = "an operation without a loop for its operands";
    if (!dt_loop_of(n->op, in, weak, count, dt_in_snippet(c), &loop, &n->dtype))
        return false;
    if (dt_is_summed_product(c, n) && dt_is_narrow(n->dtype))
        n->dtype = KILN_FLOAT32;
    /* A plain number must fit: what is drawn is small, but may be below 0. */
    *why = "a number that does not fit";
    for (int k = 0; k < count; k++) {
        const dt_node *o = &c->node[n->in[k]];
        const double number = o->op == DT_INPUT ? c->operand[o->operand].number : o->number;
        if (weak[k] && dt_is_integer(loop) && !dt_is_signed(loop) && number < 0)
            return false;
    }
    return true;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bool is_position(kiln_reduce_op op)
{
    return op == KILN_REDUCE_ARGMIN || op == KILN_REDUCE_ARGMAX || op == KILN_REDUCE_NANARGMIN ||
           op == KILN_REDUCE_NANARGMAX;
}

static bool is_extreme(kiln_reduce_op op)
{
    return op == KILN_REDUCE_MIN || op == KILN_REDUCE_MAX || op == KILN_REDUCE_NANMIN ||
           op == KILN_REDUCE_NANMAX;
}

kiln_dtype dt_reduced_dtype(kiln_reduce_op op, kiln_dtype in)
{
    switch (op) {
    case KILN_REDUCE_SUM:
    case KILN_REDUCE_PROD:
    case KILN_REDUCE_NANSUM:
    case KILN_REDUCE_NANPROD:
        if (!dt_is_integer(in))
            return in;
        return dt_is_signed(in) || in == KILN_BOOL ? KILN_INT64 : KILN_UINT64;
    case KILN_REDUCE_ANY:
    case KILN_REDUCE_ALL:
        return KILN_BOOL;
    case KILN_REDUCE_COUNT_NONZERO:
        return KILN_INT64;
    case KILN_REDUCE_MEAN:
    case KILN_REDUCE_NANMEAN:
        return dt_is_integer(in) ? KILN_FLOAT64 : in;
    case KILN_REDUCE_VAR:
    case KILN_REDUCE_STD:
    case KILN_REDUCE_NANVAR:
    case KILN_REDUCE_NANSTD:
    case KILN_REDUCE_NORM1:
    case KILN_REDUCE_NORM2:
    case KILN_REDUCE_NORMINF:
        return dt_is_integer(in) ? KILN_FLOAT64 : dt_part_of(in);
    default:
        return is_position(op) ? KILN_INT64 : in;
    }
}

kiln_dtype dt_scanned_dtype(kiln_scan_op op, kiln_dtype in)
{
    if (!dt_is_integer(in) || (op != KILN_SCAN_CUMSUM && op != KILN_SCAN_CUMPROD))
        return in;
    return dt_is_signed(in) || in == KILN_BOOL ? KILN_INT64 : KILN_UINT64;
}

/* Whether an output may have the dtype `into` where the result is `own`: of its kind, or a more
 * general one. */
static bool may_go_into(const dt_case *c, kiln_dtype own, kiln_dtype into, bool is_place)
{
    const int kinds[2] = {own == KILN_BOOL     ? 0
                          : dt_is_integer(own) ? 1
                          : dt_is_float(own)   ? 2
                                               : 3,
                          into == KILN_BOOL     ? 0
                          : dt_is_integer(into) ? 1
                          : dt_is_float(into)   ? 2
                                                : 3};

    return (c->kind == DT_KIND_REDUCE || c->kind == DT_KIND_SCAN) && c->output[0].given &&
           kinds[1] >= kinds[0] && (!is_place || kinds[1] == 1);
}

static bool marked(const dt_node *n, int rank, int axis)
{
    if (n->all_axes)
        return true;
    for (int k = 0; k < n->axis_count; k++)
        if ((n->axis[k] < 0 ? n->axis[k] + rank : n->axis[k]) == axis)
            return true;
    return false;
}

static bool axes_fit(const dt_node *n, int rank)
{
    unsigned seen = 0;

    for (int k = 0; k < n->axis_count; k++) {
        const int axis = n->axis[k] < 0 ? n->axis[k] + rank : n->axis[k];
        if (axis < 0 || axis >= rank || (seen >> axis & 1u))
            return false;
        seen |= 1u << axis;
    }
    return true;
}

static bool infer_reduce(const dt_case *c, dt_node *n, const char **why)
{
    const dt_node *in = &c->node[n->in[0]];
    const bool named = !dt_in_snippet(c);
    int64_t reduced = 1;

    *why = "axes out of range";
    if (!axes_fit(n, in->rank))
        return false;
    n->rank = 0;
    for (int axis = 0; axis < in->rank; axis++) {
        if (marked(n, in->rank, axis)) {
            reduced *= in->shape[axis];
            if (n->keepdims)
                n->shape[n->rank++] = 1;
        } else {
            n->shape[n->rank++] = in->shape[axis];
        }
    }
    *why = "a dtype that the reduction does not take";
    if (dt_is_complex(in->dtype) && (is_extreme(n->reduction) || is_position(n->reduction)))
        return false;
    *why = "no elements and no identity";
    if (reduced == 0 &&
        (is_position(n->reduction) || (is_extreme(n->reduction) && !c->has_initial)))
        return false;
    *why = "a product that is not summed, or of bool";
    if (c->kind == DT_KIND_REDUCE && in->op == DT_MULTIPLY &&
        (n->reduction != KILN_REDUCE_SUM || in->dtype == KILN_BOOL || n->into != KILN_DTYPE_NONE))
        return false;
    n->dtype = dt_is_summed_product(c, in) ? c->node[in->in[0]].dtype
               : named                    ? dt_reduced_dtype(n->reduction, in->dtype)
                                          : in->dtype;
    *why = "an output that cannot hold the result";
    if (n->into != KILN_DTYPE_NONE) {
        if (!may_go_into(c, n->dtype, n->into, is_position(n->reduction)))
            return false;
        n->dtype = n->into;
    }
    return true;
}

static bool infer_scan(const dt_case *c, dt_node *n, const char **why)
{
    const dt_node *in = &c->node[n->in[0]];
    const bool sums = n->scan == KILN_SCAN_CUMSUM || n->scan == KILN_SCAN_CUMPROD;

    *why = "axes out of range";
    if (!axes_fit(n, in->rank) || (!n->all_axes && n->axis_count != 1))
        return false;
    *why = "a dtype that the scan does not take";
    if (dt_is_complex(in->dtype) && !sums)
        return false;
    n->rank = n->all_axes ? 1 : in->rank;
    memcpy(n->shape, in->shape, sizeof n->shape);
    if (n->all_axes)
        n->shape[0] = dt_size(in->rank, in->shape);
    n->dtype = c->kind == DT_KIND_SCANNED ? in->dtype : dt_scanned_dtype(n->scan, in->dtype);
    *why = "an output that cannot hold the result";
    if (n->into != KILN_DTYPE_NONE) {
        if (!may_go_into(c, n->dtype, n->into, false))
            return false;
        n->dtype = n->into;
    }
    return true;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Python's rules for x[start:stop:step]; returns how many there are and sets the first. */
static int64_t slice_of(const dt_node *n, int64_t extent, int64_t *first)
{
    const int64_t low = n->step < 0 ? -1 : 0, high = n->step < 0 ? extent - 1 : extent;
    int64_t bound[2] = {n->start, n->stop};

    for (int k = 0; k < 2; k++) {
        if (bound[k] == KILN_SLICE_OPEN)
            bound[k] = (k == 0) == (n->step < 0) ? high : low;
        else if (bound[k] < 0)
            bound[k] = bound[k] + extent < low ? low : bound[k] + extent;
        else if (bound[k] > high)
            bound[k] = high;
    }
    *first = bound[0];
    const int64_t way = n->step < 0 ? bound[0] - bound[1] : bound[1] - bound[0];
    const int64_t step = n->step < 0 ? -n->step : n->step;
    return way <= 0 ? 0 : (way + step - 1) / step;
}

int64_t dt_slice_first(const dt_node *n, int64_t extent)
{
    int64_t first;
    slice_of(n, extent, &first);
    return first;
}

static bool infer_view(dt_node *n, const dt_node *in)
{
    const int axis = n->axis[0];
    int64_t first;

    if (n->op == DT_BROADCAST || n->op == DT_RESHAPE) {
        int rank = n->rank;
        int64_t shape[DT_RANK] = {0};

        memcpy(shape, n->shape, sizeof shape);
        if (n->op == DT_RESHAPE)
            return dt_size(rank, shape) == dt_size(in->rank, in->shape);
        return in->rank <= rank && join(&rank, shape, in->rank, in->shape) &&
               memcmp(shape, n->shape, (size_t)rank * sizeof *shape) == 0;
    }
    n->rank = in->rank;
    memcpy(n->shape, in->shape, sizeof n->shape);
    if (n->op == DT_TRANSPOSE) {
        if (n->axis_count != in->rank || !axes_fit(n, in->rank))
            return false;
        for (int k = 0; k < in->rank; k++)
            n->shape[k] = in->shape[n->axis[k]];
        return true;
    }
    if (n->op == DT_NEWAXIS) {
        if (in->rank == DT_RANK || axis < 0 || axis > in->rank)
            return false;
        memmove(n->shape + axis + 1, n->shape + axis, (size_t)(in->rank - axis) * sizeof *n->shape);
        n->shape[axis] = 1;
        n->rank++;
        return true;
    }
    if (axis < 0 || axis >= in->rank || (n->op == DT_SLICE && n->step == 0))
        return false;
    if (n->op == DT_SLICE)
        n->shape[axis] = slice_of(n, in->shape[axis], &first);
    if (n->op == DT_TAKE) {
        if (n->start >= in->shape[axis] || n->start < -in->shape[axis])
            return false;
        memmove(n->shape + axis, n->shape + axis + 1,
                (size_t)(in->rank - axis - 1) * sizeof *n->shape);
        n->rank--;
    }
    return true;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static bool infer_node(dt_case *c, dt_node *n, const char **why)
{
    const dt_view *v = &c->operand[n->operand].view;

    if (n->op < DT_ELEMENTWISE_COUNT)
        return infer_elementwise(c, n, why);
    *why = "a reduction or a view of a number";
    if (dt_operands_of(c, n->op) > 0 && dt_is_weak(c, &c->node[n->in[0]]))
        return false;
    switch (n->op) {
    case DT_INPUT:
        n->dtype = v->dtype;
        n->rank = v->rank;
        memcpy(n->shape, v->shape, sizeof n->shape);
        return true;
    case DT_CONSTANT:
        n->rank = 0;
        return true;
    case DT_REDUCE:
        return infer_reduce(c, n, why);
    case DT_SCAN:
        return infer_scan(c, n, why);
    case DT_RAW:
        n->dtype = v->dtype;
        n->rank = c->node[n->in[0]].rank;
        memcpy(n->shape, c->node[n->in[0]].shape, sizeof n->shape);
        *why = "an element of no raw array, or at no index";
        return dt_in_snippet(c) && c->operand[n->operand].is_raw && c->kind != DT_KIND_ROW &&
               c->node[n->in[0]].dtype == KILN_INT64 && dt_size(v->rank, v->shape) > 0;
    case DT_TAKEN:
        n->dtype = v->dtype;
        n->rank = c->node[n->in[0]].rank;
        memcpy(n->shape, c->node[n->in[0]].shape, sizeof n->shape);
        *why = "an element of no array, or by no input of whole numbers";
        return c->kind == DT_KIND_ELEMENTWISE && c->operand[n->operand].is_raw &&
               c->node[n->in[0]].op == DT_INPUT && c->node[n->in[0]].dtype != KILN_BOOL &&
               dt_is_integer(c->node[n->in[0]].dtype) && v->rank > 0 &&
               dt_size(v->rank, v->shape) > 0;
    case DT_OLD:
        n->dtype = c->output[0].view.dtype;
        *why = "no output that held anything";
        return c->kind == DT_KIND_ELEMENTWISE && c->output[0].given && c->output_count == 1 &&
               dt_loop_shape(c, &n->rank, n->shape);
    case DT_POSITION:
        n->dtype = KILN_INT64;
        *why = "positions in a graph, or in `post`";
        return dt_in_snippet(c) && c->kind != DT_KIND_ROW &&
               (c->pivot < 0 || n < &c->node[c->pivot]) && dt_loop_shape(c, &n->rank, n->shape);
    default:
        if (n->op == DT_INDEX && dt_in_snippet(c)) {
            n->dtype = KILN_INT64;
            *why = "an index of a scan, in `post`, or along no axis";
            return c->kind != DT_KIND_SCANNED && c->kind != DT_KIND_ROW &&
                   (c->pivot < 0 || n < &c->node[c->pivot]) &&
                   dt_loop_shape(c, &n->rank, n->shape) && n->axis[0] >= 0 && n->axis[0] < n->rank;
        }
        n->dtype = n->op == DT_INDEX ? KILN_INT64 : c->node[n->in[0]].dtype;
        *why = "a view that cannot be";
        return infer_view(n, &c->node[n->in[0]]);
    }
}

bool dt_infer_node(dt_case *c, int node)
{
    const char *why = "";
    return infer_node(c, &c->node[node], &why);
}

/* The broadcast of all operands: what a snippet runs over. The mask of a reduction is none. */
bool dt_loop_shape(const dt_case *c, int *rank, int64_t *shape)
{
    *rank = 0;
    for (int k = 0; k < c->operand_count; k++) {
        const dt_view *v = &c->operand[k].view;
        if (k != c->where && !c->operand[k].is_raw && !join(rank, shape, v->rank, v->shape))
            return false;
    }
    return true;
}

/* Stages reduce whole rows, of one set of axes, and keep these. */
static bool are_stages(const dt_case *c, int rank, const int64_t *shape)
{
    const dt_node *first = NULL;

    for (int k = 0; k < c->node_count; k++) {
        const dt_node *n = &c->node[k], *map = &c->node[n->in[0]];
        if (n->op != DT_REDUCE)
            continue;
        first = first == NULL ? n : first;
        if (map->rank != rank || memcmp(map->shape, shape, (size_t)rank * sizeof *shape) != 0 ||
            !n->keepdims || n->all_axes != first->all_axes || n->axis_count != first->axis_count ||
            memcmp(n->axis, first->axis, sizeof n->axis) != 0)
            return false;
    }
    return first != NULL && !c->has_initial && c->where < 0;
}

static bool is_logical(dt_op op)
{
    return op == DT_LOGICAL_AND || op == DT_LOGICAL_OR || op == DT_LOGICAL_XOR ||
           op == DT_LOGICAL_NOT;
}

/* Two operations of one call: on the same operands, and computed in the same dtypes. */
static bool are_pair(const dt_case *c)
{
    const dt_node *pair[2] = {&c->node[c->output[0].node], &c->node[c->output[1].node]};
    kiln_dtype in[3], loop[2], result;
    bool weak[3];

    for (int k = 0; k < 2; k++) {
        const int count = dt_ops[pair[0]->op].operands;
        if (pair[k]->op >= DT_ELEMENTWISE_COUNT || pair[k]->op == DT_CAST ||
            pair[k]->op == DT_WHERE || dt_ops[pair[k]->op].operands != count)
            return false;
        for (int j = 0; j < count; j++) {
            if (pair[k]->in[j] != pair[0]->in[j])
                return false;
            in[j] = c->node[pair[k]->in[j]].dtype;
            weak[j] = dt_is_weak(c, &c->node[pair[k]->in[j]]);
        }
        if (!dt_loop_of(pair[k]->op, in, weak, count, false, &loop[k], &result))
            return false;
    }
    /* Logical operations compute in bool. */
    return loop[0] == loop[1] && is_logical(pair[0]->op) == is_logical(pair[1]->op);
}

static bool infer_outputs(const dt_case *c, const char **why)
{
    int rank = 0;
    int64_t shape[DT_RANK] = {0};

    *why = "operands do not broadcast";
    if (dt_in_snippet(c) && !dt_loop_shape(c, &rank, shape))
        return false;
    *why = "two operations that no kernel computes together";
    if (c->kind == DT_KIND_EAGER && (c->output_count > 2 || (c->output_count == 2 && !are_pair(c))))
        return false;
    *why = "texts that are for another kind";
    if ((c->wide && c->kind != DT_KIND_GRAPH) ||
        (c->looped && c->kind != DT_KIND_ELEMENTWISE) ||
        (c->structured &&
         ((c->kind != DT_KIND_REDUCTION && c->kind != DT_KIND_SCANNED) || c->has_initial)))
        return false;
    *why = "a stage that does not reduce whole rows";
    if (c->kind == DT_KIND_ROW && (!are_stages(c, rank, shape) || !dt_fills_loop(c, 0)))
        return false;
    if (c->kind == DT_KIND_REDUCTION || c->kind == DT_KIND_SCANNED) {
        const dt_node *map = &c->node[c->node[c->pivot].in[0]];
        *why = "the mapped value lacks axes of the inputs";
        if (map->rank != rank || memcmp(map->shape, shape, (size_t)rank * sizeof *shape) != 0)
            return false;
    }
    for (int k = 0; k < c->output_count; k++) {
        const dt_output *o = &c->output[k];
        const dt_node *n = &c->node[o->node];
        const bool loop = dt_fills_loop(c, k);
        const int want_rank = loop ? rank : n->rank;
        const int64_t *want = loop ? shape : n->shape;

        *why = "an output of another dtype or shape";
        if (n->op == DT_CONSTANT || dt_is_weak(c, n))
            return false;
        if (o->given && (o->view.dtype != n->dtype || o->view.rank != want_rank ||
                         memcmp(o->view.shape, want, (size_t)want_rank * sizeof *want) != 0))
            return false;
    }
    return true;
}

bool dt_infer_nodes(dt_case *c, char *why, size_t bytes)
{
    const char *reason = "";

    for (int k = 0; k < c->node_count; k++)
        if (!infer_node(c, &c->node[k], &reason)) {
            if (why != NULL)
                snprintf(why, bytes, "t%d (%s): %s", k, dt_op_name(c->node[k].op), reason);
            return false;
        }
    return true;
}

bool dt_infer(dt_case *c, char *why, size_t bytes)
{
    const char *reason = "";

    if (!dt_infer_nodes(c, why, bytes))
        return false;
    if (infer_outputs(c, &reason))
        return true;
    if (why != NULL)
        snprintf(why, bytes, "%s", reason);
    return false;
}

/* Whether every element of a view lies in its buffer, at a multiple of its size. */
static bool view_fits(const dt_case *c, const dt_view *v)
{
    const int64_t size = (int64_t)kiln_dtype_size(v->dtype);
    int64_t low = v->start, high = v->start + size;

    if (v->buffer < 0 || v->buffer >= c->buffer_count || size == 0 || v->start % size != 0)
        return false;
    for (int axis = 0; axis < v->rank; axis++) {
        const int64_t reach = (v->shape[axis] - 1) * v->stride[axis];
        if (v->shape[axis] < 0 || v->stride[axis] % size != 0)
            return false;
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    return dt_size(v->rank, v->shape) == 0 || (low >= 0 && high <= c->buffer_bytes[v->buffer]);
}

bool dt_check_case(dt_case *c, char *why, size_t bytes)
{
    const char *reason = NULL;

    for (int k = 0; k < c->operand_count; k++)
        if (!c->operand[k].is_number && !view_fits(c, &c->operand[k].view))
            reason = "an operand lies outside its buffer";
    for (int k = 0; k < c->output_count; k++)
        if ((c->output[k].node >= c->node_count && !dt_in_family(c)) ||
            (c->output[k].given && !view_fits(c, &c->output[k].view)))
            reason = "an output lies outside its buffer, or is no node";
    for (int k = 0; k < c->node_count; k++)
        if (dt_reads_operand(c->node[k].op) &&
            (c->node[k].operand >= c->operand_count ||
             c->operand[c->node[k].operand].is_raw != (c->node[k].op != DT_INPUT)))
            reason = "an input that is no operand";
    if (c->pivot >= c->node_count || c->where >= c->operand_count || c->output_count == 0)
        reason = "a pivot, a mask or an output is missing";
    if (reason == NULL)
        return dt_in_family(c) || dt_infer(c, why, bytes);
    snprintf(why, bytes, "%s", reason);
    return false;
}
