/*
 * lower.c - the first pass: a recorded graph with the dtypes and shapes of one call.
 *
 *     record > [lower > lowered, numbers, views, reshape, product_epilogue] > facts
 *
 * It visits the nodes that outputs need, operands first, and applies NumPy's rules: which loop an
 * operation runs (ops.h), which dtype a plain number takes from the arrays beside it, how shapes
 * broadcast. The result has no weak numbers, and every conversion is a node of its own.
 *
 * Tests: test_graph_dag, test_graph_bad.
 */
#include "fusion/build.h"

/* ---- inputs --------------------------------------------------------------------------------- */

static uint32_t lower_input(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln__graph_arg *arg = &b->args[n->input];
    if (!arg->is_array) {
        if (n->rank > 0)
            kiln__build_fail(b, node, KILN_ERR_SHAPE, "a number was given; rank %d is required",
                             n->rank);
        return kiln__lowered_scalar(
            b, node, n->dtype != KILN_DTYPE_NONE ? n->dtype : kiln__number_dtype(&arg->number));
    }
    if (n->dtype != KILN_DTYPE_NONE && n->dtype != arg->dtype)
        kiln__build_fail(b, node, KILN_ERR_DTYPE, "the array is %s; %s is required",
                         kiln_dtype_name(arg->dtype), kiln_dtype_name(n->dtype));
    if (n->rank >= 0 && n->rank != arg->rank)
        kiln__build_fail(b, node, KILN_ERR_SHAPE, "the array has shape %s; rank %d is required",
                         kiln__build_shape(b, arg->rank, arg->shape), n->rank);
    const size_t axes = (size_t)arg->rank * sizeof(int64_t);
    const kiln__lowered made = {.kind = KILN__LOWERED_LEAF,
                                .dtype = arg->dtype,
                                .rank = arg->rank,
                                .shape = kiln__build_copy(b, arg->shape, axes),
                                .strides = kiln__build_copy(b, arg->strides, axes),
                                .size =
                                    kiln__lowered_size(b, node, arg->rank, arg->shape, arg->dtype),
                                .arg = n->input,
                                .origin = node};
    return kiln__lowered_add(b, &made);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* A value that has its operands' shape and depends on none of them (isnan of integers, imag of real
 * numbers): one element, spread over the shape. The operands are not read. */
static uint32_t lower_independent(kiln__build *b, uint32_t node, const kiln__lowered *made)
{
    kiln__lowered one = *made;
    one.rank = 0;
    one.shape = NULL;
    one.size = 1;
    return kiln__lowered_view(b, kiln__lowered_over(b, &one, NULL, 0), made->rank, made->shape,
                              NULL, node);
}

/* A number as an operand of an operation on arrays. */
static uint32_t number_operand(kiln__build *b, uint32_t node, kiln_op op, const kiln__op_type *type,
                               kiln_dtype dtype)
{
    const char kind = kiln_dtype_kind(dtype);
    const bool whole = type->number.kind == 'i' || type->number.kind == 'u';
    if (op == KILN_OP_CLIP && type->unknown && whole && (kind == 'i' || kind == 'u'))
        return kiln__lowered_clamped(b, node, dtype);
    return kiln__lowered_number(b, node, dtype);
}

static uint32_t lower_op(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t *from = b->ir->edges + n->operands;
    kiln__lowered made = {.kind = KILN__LOWERED_EXPR, .origin = node};
    kiln__op_type types[KILN__OP_ARITY_MAX];
    uint32_t operands[KILN__OP_ARITY_MAX], numbers = 0;

    memset(types, 0, sizeof types);
    for (uint32_t k = 0; k < n->operand_count; k++) {
        if (kiln__is_number(b, from[k], &types[k]))
            numbers++;
        else
            types[k].dtype = b->lowering.dtype[from[k]];
    }
    if (numbers == n->operand_count)
        return kiln__lower_number_op(b, node);
    kiln__resolve_op(b, node, kiln__op_find((kiln_op)n->op), types, &made.loop);
    kiln__note_widening(b, node, &made.loop);
    b->lowering.dtype[node] = made.loop.out;
    if (b->target->wide)
        kiln__op_widen(kiln__op_find((kiln_op)n->op), types, &made.loop);
    for (uint32_t k = 0; k < n->operand_count; k++)
        operands[k] =
            types[k].weak
                ? number_operand(b, from[k], (kiln_op)n->op, &types[k], made.loop.in[k])
                : kiln__lowered_cast(b, b->lowering.lowered[from[k]], made.loop.in[k], node);
    made.dtype = made.loop.out;
    kiln__shape_over(b, node, operands, n->operand_count, &made);
    if (!kiln__op_reads(&made.loop))
        return lower_independent(b, node, &made);
    made.size = kiln__lowered_size(b, node, made.rank, made.shape, made.dtype);
    return kiln__lowered_over(b, &made, operands, n->operand_count);
}

/* Whether a value of this dtype is kept in float32, though NumPy has it in 16 bits. */
static bool stays_wide(const kiln__build *b, kiln_dtype dtype)
{
    return b->target->wide && (dtype == KILN_FLOAT16 || dtype == KILN_BFLOAT16);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Mark the axes of `space` that a node reduces, and shape its result. */
static void reduce_shape(kiln__build *b, uint32_t node, kiln__lowered *made)
{
    const kiln__node *n = &b->ir->nodes[node];
    const int64_t *axes = n->data_count == 0 ? NULL : b->ir->data + n->data;
    made->reduced = kiln__build_alloc(b, (size_t)made->space_rank * sizeof *made->reduced + 1);
    for (int a = 0; a < made->space_rank; a++)
        made->reduced[a] = n->all_axes;
    for (uint32_t k = 0; k < n->data_count; k++) {
        const int a = kiln__lower_axis(b, node, axes[k], made->space_rank);
        if (made->reduced[a])
            kiln__build_fail(b, node, KILN_ERR_AXIS, "axis %d is given twice", a);
        made->reduced[a] = true;
    }
    made->shape = kiln__build_alloc(b, (size_t)made->space_rank * sizeof *made->shape);
    made->rank = 0;
    for (int a = 0; a < made->space_rank; a++)
        if (!made->reduced[a] || made->keepdims)
            made->shape[made->rank++] = made->reduced[a] ? 1 : made->space[a];
    made->size = kiln__lowered_size(b, node, made->rank, made->shape, made->dtype);
}

/* A REDUCE of `x` as a recorded node reduces, but perhaps by another `op`. */
static uint32_t reduce_low(kiln__build *b, uint32_t node, int op, uint32_t x, bool keepdims)
{
    const kiln__lowered *o = &b->lowered[x];
    const kiln__reduce_row *row = kiln__reduce_row_find(op, o->dtype);
    if (row == NULL)
        kiln__build_fail(b, node, KILN_ERR_DTYPE, "it does not take %s", kiln_dtype_name(o->dtype));
    kiln__lowered made = {.kind = KILN__LOWERED_REDUCE,
                          .dtype = kiln__reduce_result(row, o->dtype),
                          .op = op,
                          .space_rank = o->rank,
                          .space = o->shape,
                          .keepdims = keepdims,
                          .origin = node};
    if (stays_wide(b, made.dtype))
        made.dtype = KILN_FLOAT32;
    reduce_shape(b, node, &made);
    int64_t elements = 1;
    for (int a = 0; a < o->rank; a++)
        elements *= made.reduced[a] ? o->shape[a] != 0 : 1;
    if (elements == 0 && kiln__reduce_needs_elements(row))
        kiln__build_fail(b, node, KILN_ERR_IDENTITY,
                         "no elements have no such value: the shape is %s",
                         kiln__build_shape(b, o->rank, o->shape));
    return kiln__lowered_over(b, &made, &x, 1);
}

/* Whether variances are better computed in two steps, a mean and then squared deviations from it:
 * in rows that are held on chip the second step costs no memory, and both are plain sums. */
static bool in_two_steps(kiln__build *b, uint32_t node, uint32_t x)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln__lowered *o = &b->lowered[x];
    bool reduced[KILN_RANK_MAX];
    int64_t length = 1, bytes = 0, weight = 0;
    if (kiln_dtype_kind(o->dtype) == 'c' || o->size == 0)
        return false;
    for (int a = 0; a < o->rank; a++)
        reduced[a] = n->all_axes;
    for (uint32_t k = 0; k < n->data_count; k++) {
        const int64_t axis = b->ir->data[n->data + k];
        if (axis >= -o->rank && axis < o->rank)
            reduced[axis < 0 ? axis + o->rank : axis] = true;
    }
    for (int a = 0; a < o->rank; a++)
        length *= reduced[a] ? o->shape[a] : 1;
    kiln__marks_clear(b, &b->marks);
    kiln__row_bytes(b, x, reduced, &bytes, &weight);
    if (weight <= 0 || length == o->size)
        return false;
    return (b->target->backend == KILN_BACKEND_CPU || n->keepdims || b->lowering.viewed[node]) &&
           kiln__row_is_held(b->target->backend, b->target->clusters, length, bytes);
}

static uint32_t variance_in_two_steps(kiln__build *b, uint32_t node, uint32_t x)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln_dtype from = b->lowered[x].dtype;
    const bool half = kiln__is_narrow(from);
    const kiln_dtype wide = half                           ? KILN_FLOAT32
                            : kiln_dtype_kind(from) == 'f' ? from
                                                           : KILN_FLOAT64;
    const uint32_t value = kiln__lowered_cast(b, x, wide, node);
    const uint32_t pair[] = {value, reduce_low(b, node, KILN_REDUCE_MEAN, value, true)};
    const uint32_t deviation = kiln__lowered_op(b, node, KILN_OP_SUBTRACT, pair, 2);
    const uint32_t square = kiln__lowered_op(b, node, KILN_OP_SQUARE, &deviation, 1);
    uint32_t result = reduce_low(b, node, KILN_REDUCE_MEAN, square, n->keepdims);
    if (n->op == KILN_REDUCE_STD)
        result = kiln__lowered_op(b, node, KILN_OP_SQRT, &result, 1);
    return kiln__lowered_cast(b, result, half && !b->target->wide ? from : wide, node);
}

/* What a reduction can run over: a kernel needs an array. A value that reads none is stored first;
 * of one that is spread over a shape, only what is spread. */
static uint32_t in_memory(kiln__build *b, uint32_t x, uint32_t node)
{
    const kiln__lowered *n = &b->lowered[x];
    if (n->memory)
        return x;
    if (n->kind != KILN__LOWERED_VIEW || b->lowered[n->operand[0]].size > n->size)
        return kiln__lowered_store(b, x, node);
    const uint32_t kept = kiln__lowered_store(b, n->operand[0], node);
    n = &b->lowered[x]; /* the list of lowered nodes may have moved */
    return kiln__lowered_view(b, kept, n->rank, n->shape, n->map, node);
}

static uint32_t lower_reduce(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t from = b->ir->edges[n->operands], folded = kiln__reduce_pieces(b, node);
    uint32_t x = kiln__lowered_strong(b, from);
    if (folded != 0)
        return folded;
    const kiln_dtype narrow = b->lowering.dtype[from];

    if (n->dtype != KILN_DTYPE_NONE)
        x = kiln__lowered_cast(b, x, n->dtype, node);
    else if (stays_wide(b, narrow))
        b->lowering.dtype[node] = kiln__reduce_result(kiln__reduce_row_find(n->op, narrow), narrow);
    x = in_memory(b, x, node);
    const bool variance = n->op == KILN_REDUCE_VAR || n->op == KILN_REDUCE_STD;
    const uint32_t low = variance && in_two_steps(b, node, x)
                             ? variance_in_two_steps(b, node, x)
                             : reduce_low(b, node, n->op, x, n->keepdims);
    return n->dtype != KILN_DTYPE_NONE ? kiln__lowered_cast(b, low, n->dtype, node) : low;
}

/* ---- custom kernels -------------------------------------------------------------------------- */

/* A custom kernel that is done where its results are used: operands have the dtypes of its
 * parameters. */
static uint32_t lower_snippet(kiln__build *b, uint32_t node, kiln__lowered *made,
                              const kiln_dtype *dtypes)
{
    const kiln__node *n = &b->ir->nodes[node];
    uint32_t operands[KILN_PARAM_MAX];
    for (size_t p = 0; p < n->def->input_count; p++) {
        const uint32_t from = b->ir->edges[n->operands + p];
        kiln__op_type type;
        if (!kiln__is_number(b, from, &type)) {
            operands[p] = kiln__lowered_cast(b, b->lowering.lowered[from], dtypes[p], node);
            continue;
        }
        if (!type.unknown && !kiln__number_fits(&type.number, dtypes[p]))
            kiln__build_fail(b, node, KILN_ERR_RANGE, "the number for `%s` does not fit %s",
                             n->def->params[p].name, kiln_dtype_name(dtypes[p]));
        operands[p] = kiln__lowered_number(b, from, dtypes[p]);
    }
    made->kind = KILN__LOWERED_SNIPPET;
    made->size = kiln__lowered_size(b, node, made->rank, made->shape, made->dtype);
    return kiln__lowered_over(b, made, operands, n->def->input_count);
}

static uint32_t lower_custom(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln__definition *d = n->def;
    kiln__lowered made = {.kind = KILN__LOWERED_CUSTOM, .custom = n, .origin = node};
    uint32_t operands[KILN_PARAM_MAX], shaping[KILN_PARAM_MAX];
    kiln__given given[KILN_PARAM_MAX];
    kiln_dtype dtypes[KILN_PARAM_MAX];
    size_t shaping_count = 0;
    kiln_error err = KILN_ERROR_INIT;

    memset(given, 0, sizeof given);
    for (size_t p = 0; p < d->input_count; p++) {
        const uint32_t from = b->ir->edges[n->operands + p];
        kiln__op_type type;
        operands[p] = kiln__lowered_strong(b, from);
        given[p].kind = KILN__GIVEN_ARRAY;
        given[p].dtype = b->lowered[operands[p]].dtype;
        if (stays_wide(b, b->lowering.dtype[from]))
            given[p].dtype = b->lowering.dtype[from];
        if (kiln__is_number(b, from, &type))
            given[p].kind = KILN__GIVEN_BOOL + (kiln__given_kind)kiln__number_index(&type.number);
        else if (!d->params[p].raw)
            shaping[shaping_count++] = operands[p];
    }
    kiln__check_resolved(b, node, kiln__bind_types(d, given, dtypes, &err), &err);
    if (shaping_count == 0)
        kiln__build_fail(b, node, KILN_ERR_UNDECIDED_SIZE,
                         "no input that is not raw decides the size");
    made.dtype = dtypes[d->input_count + n->result];
    made.results = kiln__build_copy(b, dtypes + d->input_count,
                                    (d->param_count - d->input_count) * sizeof *dtypes);
    made.op = (int)n->result;
    kiln__shape_over(b, node, shaping, shaping_count, &made);
    if (kiln__snippet_inlines(d))
        return lower_snippet(b, node, &made, dtypes);
    for (size_t p = 0; p < d->input_count; p++) /* what is computed from numbers is stored for it */
        if (b->lowering.numbers[b->ir->edges[n->operands + p]] != 0 ||
            stays_wide(b, given[p].dtype))
            operands[p] = kiln__lowered_cast(b, operands[p], dtypes[p], node);
    made.space = made.shape;
    made.space_rank = made.rank;
    made.keepdims = n->keepdims;
    if (d->family->maps)
        reduce_shape(b, node, &made);
    else
        made.size = kiln__lowered_size(b, node, made.rank, made.shape, made.dtype);
    return kiln__lowered_over(b, &made, operands, d->input_count);
}

/* ---- opaque operations ----------------------------------------------------------------------- */

/* A result of an operation that is done as a whole: its operands are stored, in their own dtypes. */
static uint32_t lower_opaque(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln__opaque *o = n->kernel;
    kiln__opaque_value values[KILN__OPAQUE_OPERANDS], results[KILN__OPAQUE_RESULTS];
    uint32_t operands[KILN__OPAQUE_OPERANDS];
    kiln_error err = KILN_ERROR_INIT;

    memset(values, 0, sizeof values);
    for (uint32_t k = 0; k < n->operand_count; k++) {
        const uint32_t from = b->ir->edges[n->operands + k];
        operands[k] = kiln__lowered_strong(b, from);
        if (stays_wide(b, b->lowering.dtype[from]))
            operands[k] = kiln__lowered_cast(b, operands[k], b->lowering.dtype[from], node);
        operands[k] = in_memory(b, operands[k], node);
        const kiln__lowered *low = &b->lowered[operands[k]];
        values[k].dtype = low->dtype;
        values[k].rank = low->rank;
        if (low->rank > 0)
            memcpy(values[k].shape, low->shape, (size_t)low->rank * sizeof low->shape[0]);
    }
    kiln__check_resolved(
        b, node, o->infer(o, values, n->operand_count, b->ir->data + n->data, results, &err), &err);
    const uint32_t part = o->topk ? kiln__lower_topk(b, node, operands[0]) : 0;
    if (part != 0)
        return part;
    const kiln__opaque_value *made = kiln__build_copy(b, results, sizeof results);
    const kiln__opaque_value *own = &made[n->result];
    kiln__lowered low = {.kind = KILN__LOWERED_CUSTOM,
                         .custom = n,
                         .op = (int)n->result,
                         .dtype = own->dtype,
                         .rank = own->rank,
                         .shape = kiln__build_copy(b, own->shape, sizeof own->shape),
                         .made = made,
                         .origin = node};
    low.space = low.shape;
    low.space_rank = low.rank;
    low.size = kiln__lowered_size(b, node, low.rank, low.shape, low.dtype);
    return kiln__lowered_over(b, &low, operands, n->operand_count);
}

/* ---- positions ------------------------------------------------------------------------------- */

/* 0, 1, ..., count - 1. */
static uint32_t iota(kiln__build *b, uint32_t node, int64_t count)
{
    static const int64_t one = 1;
    const kiln__lowered made = {.kind = KILN__LOWERED_IOTA,
                                .dtype = KILN_INT64,
                                .rank = 1,
                                .shape = kiln__build_copy(b, &count, sizeof count),
                                .size = kiln__lowered_size(b, node, 1, &count, KILN_INT64),
                                .coef = kiln__build_copy(b, &one, sizeof one),
                                .origin = node};
    return kiln__lowered_add(b, &made);
}

static uint32_t lower_index(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln__lowered *o = kiln__strong(b, b->ir->edges[n->operands]);
    const int axis = kiln__lower_axis(b, node, b->ir->data[n->data], o->rank);
    const kiln__axis_map map = {axis, 0, 1};
    if (n->data_count > 1 && b->ir->data[n->data + 1] != 0)
        return iota(b, node, o->shape[axis]);
    return kiln__lowered_view(b, iota(b, node, o->shape[axis]), o->rank, o->shape, &map, node);
}

/* ---- random numbers -------------------------------------------------------------------------- */

/* The index of each element in C-order. */
static uint32_t linear_index(kiln__build *b, uint32_t node, int rank, const int64_t *shape)
{
    int64_t coef[KILN_RANK_MAX], step = 1;

    for (int a = rank - 1; a >= 0; a--) {
        coef[a] = step;
        step *= shape[a]; /* kiln__lowered_size() below has checked it */
    }
    const size_t axes = (size_t)rank * sizeof *shape;
    const kiln__lowered made = {.kind = KILN__LOWERED_IOTA,
                                .dtype = KILN_INT64,
                                .rank = rank,
                                .shape = kiln__build_copy(b, shape, axes),
                                .size = kiln__lowered_size(b, node, rank, shape, KILN_INT64),
                                .coef = kiln__build_copy(b, coef, axes),
                                .origin = node};
    return kiln__lowered_add(b, &made);
}

/* An operand of a draw as `dtype`; what it is, if it is a number, goes to `type`. */
static uint32_t draw_operand(kiln__build *b, uint32_t node, uint32_t from, kiln_dtype dtype,
                             kiln__op_type *type)
{
    const bool whole = kiln_dtype_kind(dtype) != 'f';
    const bool weak = kiln__is_number(b, from, type);
    const kiln_dtype own = weak ? kiln__number_dtype(&type->number) : b->lowering.dtype[from];

    if (whole && kiln_dtype_kind(own) != 'i' && kiln_dtype_kind(own) != 'u')
        kiln__build_fail(b, node, KILN_ERR_DTYPE, "%s stands where an integer must",
                         kiln_dtype_name(own));
    if (kiln_dtype_kind(own) == 'c')
        kiln__build_fail(b, node, KILN_ERR_DTYPE, "a parameter is complex");
    if (!weak)
        return kiln__lowered_cast(b, b->lowering.lowered[from], dtype, node);
    kiln__need_fit(b, node, type, dtype);
    return kiln__lowered_number(b, from, dtype);
}

static uint32_t lower_draw(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t *from = b->ir->edges + n->operands;
    const size_t params = kiln__draw_params((kiln_draw)n->op);
    kiln__lowered made = {.kind = KILN__LOWERED_EXPR, .origin = node};
    kiln_dtype dtypes[KILN__DRAW_PARAMS_MAX];
    kiln__op_type types[KILN__DRAW_OPERANDS_MAX];
    const kiln__number *known[KILN__DRAW_PARAMS_MAX] = {NULL};
    uint32_t operands[KILN__DRAW_OPERANDS_MAX];
    kiln_error err = KILN_ERROR_INIT;
    int rank = (int)n->data_count;
    const int64_t *shape = b->ir->data + n->data;

    if (n->operand_count > 2 + params) { /* an array whose shape is meant */
        const kiln__lowered *like = kiln__strong(b, from[2 + params]);
        rank = like->rank;
        shape = like->shape;
    }
    kiln__check_resolved(
        b, node, kiln__draw_resolve((kiln_draw)n->op, n->dtype, &made.loop, dtypes, &err), &err);
    for (size_t k = 0; k < 2; k++)
        operands[k] = draw_operand(b, node, from[k], KILN_UINT64, &types[k]);
    (void)kiln__lowered_size(b, node, rank, shape, KILN_INT64);
    operands[2] = linear_index(b, node, rank, shape);
    for (size_t k = 0; k < params; k++) {
        operands[3 + k] = draw_operand(b, node, from[2 + k], dtypes[k], &types[3 + k]);
        if (types[3 + k].weak && !types[3 + k].unknown)
            known[k] = &types[3 + k].number;
    }
    kiln__check_resolved(b, node, kiln__draw_check((kiln_draw)n->op, known[0], known[1], &err),
                         &err);
    made.dtype = made.loop.out;
    kiln__shape_over(b, node, operands, 3 + params, &made);
    if (!kiln__same_shape(made.rank, made.shape, b->lowered[operands[2]].rank,
                          b->lowered[operands[2]].shape))
        kiln__build_fail(b, node, KILN_ERR_SHAPE,
                         "parameters of shape %s do not broadcast to the shape",
                         kiln__build_shape(b, made.rank, made.shape));
    made.size = kiln__lowered_size(b, node, made.rank, made.shape, made.dtype);
    const uint32_t low = kiln__lowered_over(b, &made, operands, 3 + params);
    b->lowering.dtype[node] = made.dtype;
    return stays_wide(b, made.dtype) ? kiln__lowered_cast(b, low, KILN_FLOAT32, node) : low;
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Refuse a cast that is not of the kind which the text allows. */
static void check_casting(kiln__build *b, uint32_t node, kiln_dtype from, kiln_dtype to, int64_t casting)
{
    static const char kinds[] = "buifc", *const words[] = {"same_kind", "safe", "no"};
    const bool same_kind = strchr(kinds, kiln_dtype_kind(from)) <= strchr(kinds, kiln_dtype_kind(to));
    kiln_dtype both = KILN_DTYPE_NONE;
    const bool safe = kiln__promote(from, to, &both) && both == to;

    if (from == to || (casting == KILN__CASTING_SAME_KIND && same_kind) ||
        (casting == KILN__CASTING_SAFE && safe))
        return;
    kiln__build_fail(b, node, KILN_ERR_DTYPE, "%s is not cast to %s by the rule `%s`",
                     kiln_dtype_name(from), kiln_dtype_name(to), words[casting]);
}

/* To a dtype, or to that of the second operand. */
static uint32_t lower_cast(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t *from = b->ir->edges + n->operands;
    uint32_t x = kiln__lowered_strong(b, from[0]);

    if (n->operand_count == 1 && n->data_count > 0)
        check_casting(b, node, b->lowered[x].dtype, n->dtype, b->ir->data[n->data]);
    if (n->operand_count == 1)
        return kiln__lowered_cast(b, x, n->dtype, node);
    const kiln_dtype dtype = kiln__strong(b, from[1])->dtype;
    const bool whole = kiln_dtype_kind(dtype) == 'i' || kiln_dtype_kind(dtype) == 'u';
    const int64_t how = b->ir->data[n->data];
    if (whole && how != KILN__CAST_PLAIN && kiln_dtype_kind(b->lowered[x].dtype) == 'f')
        x = kiln__lowered_op(b, node, how == KILN__CAST_ROUND ? KILN_OP_RINT : KILN_OP_FLOOR, &x,
                             1);
    b->lowering.dtype[node] = b->lowering.dtype[from[1]];
    return kiln__lowered_cast(b, x, dtype, node);
}

static uint32_t lower_node(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    switch (n->kind) {
    case KILN__NODE_INPUT:
        return lower_input(b, node);
    case KILN__NODE_CONSTANT:
        return 0; /* its users decide what it is */
    case KILN__NODE_OP:
        return kiln__lower_pieces(b, node, lower_op);
    case KILN__NODE_CAST:
        return kiln__lower_pieces(b, node, lower_cast);
    case KILN__NODE_REDUCE:
        return lower_reduce(b, node);
    case KILN__NODE_VIEW:
        b->lowering.dtype[node] = b->lowering.dtype[b->ir->edges[n->operands]];
        return kiln__lower_view(b, node, kiln__lowered_strong(b, b->ir->edges[n->operands]));
    case KILN__NODE_IOTA:
        return lower_index(b, node);
    case KILN__NODE_ARANGE:
        return iota(b, node, b->ir->data[n->data]);
    case KILN__NODE_DRAW:
        return lower_draw(b, node);
    case KILN__NODE_GATHER:
        return kiln__lower_gather(b, node);
    case KILN__NODE_REARRANGED:
        return kiln__lower_rearranged(b, node);
    case KILN__NODE_EXTENT:
        return kiln__lower_extent(b, node, kiln__lowered_strong(b, b->ir->edges[n->operands]));
    case KILN__NODE_CUSTOM:
        return lower_custom(b, node);
    case KILN__NODE_OPAQUE:
        return lower_opaque(b, node);
    }
    return 0;
}

static void want(kiln__build *b)
{
    const kiln__ir *ir = b->ir;
    for (uint32_t k = 0; k < ir->output_count; k++) {
        b->lowering.wanted[ir->outputs[k].node] = true;
        b->lowering.uses[ir->outputs[k].node]++;
    }
    for (uint32_t id = ir->node_count; id-- > 1;) {
        const kiln__node_kind kind = ir->nodes[id].kind;
        if (b->lowering.wanted[id] && ir->extents)
            kiln__want_extents(b, id);
        for (uint32_t k = 0; b->lowering.wanted[id] && k < ir->nodes[id].operand_count; k++) {
            const uint32_t operand = ir->edges[ir->nodes[id].operands + k];
            b->lowering.wanted[operand] = true;
            if (kind == KILN__NODE_EXTENT) /* the shape alone is looked at */
                continue;
            b->lowering.uses[operand]++;
            b->lowering.viewed[operand] |= kind == KILN__NODE_VIEW;
            b->lowering.kept[operand] |= kind == KILN__NODE_VIEW || kind == KILN__NODE_OPAQUE ||
                                         kind == KILN__NODE_REARRANGED;
        }
    }
}

/* Whether an output has no gaps in C-order, as those have that a call allocates. */
static bool is_dense(const kiln__graph_arg *arg)
{
    int64_t step = arg->is_array ? (int64_t)kiln_dtype_size(arg->dtype) : 0;

    for (int a = arg->is_array ? arg->rank : 0; a-- > 0;) {
        if (arg->shape[a] != 1 && arg->strides[a] != step)
            return false;
        step *= arg->shape[a];
    }
    return true;
}

/* Whether an output is another shape of a value that is stored in C-order: that is then stored
 * where the output is. */
static bool shares_memory(kiln__build *b, uint32_t low, const kiln__graph_arg *arg)
{
    const kiln__lowered *n = &b->lowered[low];

    if (n->kind != KILN__LOWERED_RESHAPED || n->given || !is_dense(arg) ||
        b->lowered[n->operand[0]].into != 0 || b->lowered[n->operand[0]].given)
        return false;
    b->lowered[n->operand[0]].into = low;
    return true;
}

/* Whether an output may be the memory of a join, which others may read under another shape. */
static bool is_own_memory(const kiln__lowered *n, const kiln__graph_arg *arg)
{
    return n->kind == KILN__LOWERED_JOIN && n->into == 0 && (!n->c_order || is_dense(arg));
}

/* An output is computed by some kernel, and by one only once: what is not, or is an output already,
 * is copied. */
static void lower_output(kiln__build *b, uint32_t k)
{
    const kiln__ir_name *name = &b->ir->outputs[k];
    const kiln__graph_arg *arg = &b->args[b->ir->input_count + k];
    uint32_t low = kiln__lowered_strong(b, name->node);
    if (stays_wide(b, b->lowering.dtype[name->node]))
        low = kiln__lowered_cast(b, low, b->lowering.dtype[name->node], name->node);
    const kiln__lowered *n = &b->lowered[low];
    const bool taken = !kiln__lowered_computed(n) && n->kind != KILN__LOWERED_REDUCE &&
                       n->kind != KILN__LOWERED_CUSTOM && !is_own_memory(n, arg) &&
                       !shares_memory(b, low, arg);
    if (taken || n->given) {
        kiln__lowered made = {.kind = KILN__LOWERED_STORE,
                              .dtype = n->dtype,
                              .rank = n->rank,
                              .shape = n->shape,
                              .size = n->size,
                              .output = (int)k + 1, /* a copy for each output */
                              .origin = name->node};
        low = kiln__lowered_over(b, &made, &low, 1);
        n = &b->lowered[low];
    }
    b->outputs[k] = low;
    b->lowered[low].given = true;
    if (!arg->is_array)
        return;
    if (arg->dtype != n->dtype)
        kiln__build_fail(b, 0, KILN_ERR_DTYPE,
                         "output `%s` is given as %s, but the result is %s: %s", name->name,
                         kiln_dtype_name(arg->dtype), kiln_dtype_name(n->dtype),
                         kiln__why_dtype(b, name->node));
    if (!kiln__same_shape(arg->rank, arg->shape, n->rank, n->shape))
        kiln__build_fail(b, 0, KILN_ERR_OUTPUT, "output `%s` has shape %s, but the result has %s",
                         name->name, kiln__build_shape(b, arg->rank, arg->shape),
                         kiln__build_shape(b, n->rank, n->shape));
}

void kiln__lower(kiln__build *b)
{
    const uint32_t count = b->ir->node_count;
    b->lowering.lowered = kiln__build_alloc(b, count * sizeof *b->lowering.lowered);
    b->lowering.wanted = kiln__build_alloc(b, count * sizeof *b->lowering.wanted);
    b->lowering.viewed = kiln__build_alloc(b, count * sizeof *b->lowering.viewed);
    b->lowering.kept = kiln__build_alloc(b, count * sizeof *b->lowering.kept);
    b->lowering.uses = kiln__build_alloc(b, count * sizeof *b->lowering.uses);
    b->lowering.numbers = kiln__build_alloc(b, count);
    b->lowering.pieces = kiln__build_alloc(b, count * sizeof(*b->lowering.pieces));
    b->lowering.dtype = kiln__build_alloc(b, count * sizeof *b->lowering.dtype);
    b->outputs = kiln__build_alloc(b, b->ir->output_count * sizeof *b->outputs);
    if (b->ir->extents)
        kiln__begin_extents(b);
    want(b);
    for (uint32_t id = 1; id < count; id++)
        if (b->lowering.wanted[id]) {
            if (b->ir->extents)
                kiln__replace_references(b, id);
            const uint32_t low = b->lowering.lowered[id] = lower_node(b, id);
            if (low != 0 && b->lowering.dtype[id] == KILN_DTYPE_NONE)
                b->lowering.dtype[id] = b->lowered[low].dtype;
            b->lowering.lowered[id] = kiln__finished_product(b, id, low);
        }
    for (uint32_t k = 0; k < b->ir->output_count; k++)
        lower_output(b, k);
    for (uint32_t id = 1; id < b->lowered_count; id++)
        b->lowered[id].output = -1;
    for (uint32_t k = 0; k < b->ir->output_count; k++)
        b->lowered[b->outputs[k]].output = (int)k;
}
