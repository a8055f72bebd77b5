/*
 * topk.c - topk() as a part of the kernel that computes its operand.
 *
 *     lower > [topk: reductions with one accumulator, results in parts] > joins, states, rows
 *
 * One accumulator holds the k greatest elements of a row (templates/prelude/top.h). Each element
 * and each of their positions is the result of a reduction, and all these share the state
 * (states.c). topk(softmax(x), 5) is then one row program, which reads x once and writes ten
 * numbers for each row. The results are stored as the parts of a join.
 *
 * Operations on such results stay in parts: an operation is repeated for each part, and a sum along
 * their axis adds the parts. So `v / sum(v, axis=-1, keepdims=True)` belongs to the same kernel.
 *
 * Rule: this is for rows that are held on chip, and for operands that contain reductions of the
 *       same rows. For others the kernels of src/sorting are faster, which read a stored array.
 *
 * Test: test_top_rows.
 */
#include "fusion/build.h"

/* Whether `x` is made of reductions along `axis` of its own space, which a row program computes. */
static bool is_of_rows(kiln__build *b, uint32_t x, int axis)
{
    const kiln__lowered *n = &b->lowered[x], *top = n;
    kiln__list open = {NULL, 0, 0};

    kiln__marks_clear(b, &b->marks);
    for (kiln__list_add(b, &open, x); open.count > 0;) {
        n = &b->lowered[open.ids[--open.count]];
        if (n->kind == KILN__LOWERED_REDUCE) {
            bool same = n->space_rank == top->rank;
            for (int a = 0; same && a < top->rank; a++)
                same = n->space[a] == top->shape[a] && n->reduced[a] == (a == axis);
            if (same)
                return true;
        }
        if (n->kind != KILN__LOWERED_VIEW && !kiln__lowered_computed(n))
            continue;
        for (uint32_t k = 0; k < n->operand_count; k++)
            if (kiln__mark(b, &b->marks, n->operand[k]))
                kiln__list_add(b, &open, n->operand[k]);
    }
    return false;
}

static bool is_held(kiln__build *b, uint32_t x, int axis)
{
    const kiln__lowered *n = &b->lowered[x];
    bool reduced[KILN_RANK_MAX] = {false};
    int64_t bytes = 0, weight = 0;

    reduced[axis] = true;
    kiln__marks_clear(b, &b->marks);
    kiln__row_bytes(b, x, reduced, &bytes, &weight);
    const bool turned = weight < 0;
    return kiln__row_is_held(b->target->backend, b->target->clusters && !turned,
                             n->shape[axis] * (turned ? KILN__TURNED_ROWS : 1), bytes);
}

/* Pieces as one value, which a node is. */
static uint32_t side_by_side(kiln__build *b, uint32_t node, const kiln__pieces *p)
{
    const kiln__lowered *first = &b->lowered[p->low[0]];

    b->lowering.pieces[node] = p;
    return kiln__lowered_side_by_side(b, node, p->low, (size_t)p->count, first->rank - 1 - p->back,
                                      first->dtype);
}

uint32_t kiln__lower_topk(kiln__build *b, uint32_t node, uint32_t x)
{
    const kiln__node *n = &b->ir->nodes[node];
    const int64_t *data = b->ir->data + n->data, k = data[1];
    const kiln__lowered o = b->lowered[x];
    const int op = n->result == 0 ? KILN__REDUCE_TOP : KILN__REDUCE_TOP_AT;
    const kiln__reduce_row *row = kiln__reduce_row_find(op, o.dtype);

    if (row == NULL || k < 1 || k > KILN__TOP_MOST || !kiln__lowered_computed(&o) ||
        data[0] < -o.rank || data[0] >= o.rank ||
        kiln__reduce_part_bytes(row, kiln__reduce_top(op, (int)k, 0), o.dtype) >
            KILN__PASS_BYTES_MAX)
        return 0;
    const int axis = kiln__lower_axis(b, node, data[0], o.rank);
    if (o.size == 0 || !is_held(b, x, axis) || !is_of_rows(b, x, axis))
        return 0;
    kiln__lowered made = {.kind = KILN__LOWERED_REDUCE,
                          .dtype = kiln__reduce_result(row, o.dtype),
                          .rank = o.rank,
                          .shape = kiln__build_copy(b, o.shape, (size_t)o.rank * sizeof *o.shape),
                          .size = o.size / o.shape[axis],
                          .space_rank = o.rank,
                          .space = o.shape,
                          .reduced = kiln__build_alloc(b, (size_t)o.rank * sizeof(bool)),
                          .keepdims = true,
                          .origin = node};
    made.shape[axis] = 1;
    made.reduced[axis] = true;
    kiln__pieces *p = kiln__build_alloc(b, sizeof *p);
    p->count = (int)k;
    p->back = o.rank - 1 - axis;
    for (int which = 0; which < p->count; which++) {
        made.op = kiln__reduce_top(op, p->count, which);
        p->low[which] = kiln__lowered_over(b, &made, &x, 1);
    }
    return side_by_side(b, node, p);
}

/* ---- what follows ---------------------------------------------------------------------------- */

/* The pieces of the operands of a node, which are alike; NULL where there are none. */
static const kiln__pieces *pieces_of(const kiln__build *b, const kiln__node *n)
{
    const kiln__pieces *first = NULL;

    for (uint32_t k = 0; k < n->operand_count; k++) {
        const kiln__pieces *p = b->lowering.pieces[b->ir->edges[n->operands + k]];
        if (p == NULL)
            continue;
        if (first != NULL && (p->count != first->count || p->back != first->back))
            return NULL;
        first = p;
    }
    return first;
}

uint32_t kiln__lower_pieces(kiln__build *b, uint32_t node,
                            uint32_t (*lower)(kiln__build *b, uint32_t node))
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t *from = b->ir->edges + n->operands;
    const kiln__pieces *given = pieces_of(b, n);
    const uint32_t whole = lower(b, node);
    uint32_t kept[KILN__OP_ARITY_MAX];
    bool apart = given != NULL && n->operand_count <= KILN__OP_ARITY_MAX;

    if (!apart)
        return whole;
    kiln__pieces *made = kiln__build_alloc(b, sizeof *made);
    made->count = given->count;
    made->back = given->back;
    for (uint32_t k = 0; k < n->operand_count; k++)
        kept[k] = b->lowering.lowered[from[k]];
    for (int which = 0; which < made->count && apart; which++) {
        for (uint32_t k = 0; k < n->operand_count; k++)
            if (b->lowering.pieces[from[k]] != NULL)
                b->lowering.lowered[from[k]] = b->lowering.pieces[from[k]]->low[which];
        made->low[which] = lower(b, node);
        const kiln__lowered *piece = &b->lowered[made->low[which]];
        /* An operand may have an element for each piece. */
        apart = piece->shape[piece->rank - 1 - made->back] == 1;
    }
    for (uint32_t k = 0; k < n->operand_count; k++)
        b->lowering.lowered[from[k]] = kept[k];
    return apart ? side_by_side(b, node, made) : whole;
}

/* The operation that combines pieces as a reduction does; a mean divides what a sum has made. */
static bool fold_of(int reduction, kiln_op *out)
{
    static const struct {
        int reduction;
        kiln_op op;
    } folds[] = {{KILN_REDUCE_SUM, KILN_OP_ADD},
                 {KILN_REDUCE_MEAN, KILN_OP_ADD},
                 {KILN_REDUCE_PROD, KILN_OP_MULTIPLY},
                 {KILN_REDUCE_MAX, KILN_OP_MAXIMUM},
                 {KILN_REDUCE_MIN, KILN_OP_MINIMUM}};

    for (size_t k = 0; k < KILN_COUNT_OF(folds); k++)
        if (folds[k].reduction == reduction) {
            *out = folds[k].op;
            return true;
        }
    return false;
}

/* Pieces combined, in the dtype of the result. */
static uint32_t fold(kiln__build *b, uint32_t node, const kiln__pieces *p, kiln_op op,
                     kiln_dtype dtype)
{
    const kiln_dtype wide = kiln__is_narrow(dtype) ? KILN_FLOAT32 : dtype;
    uint32_t pair[2] = {kiln__lowered_cast(b, p->low[0], wide, node), 0};

    for (int which = 1; which < p->count; which++) {
        pair[1] = kiln__lowered_cast(b, p->low[which], wide, node);
        pair[0] = kiln__lowered_op(b, node, op, pair, 2);
    }
    if (b->ir->nodes[node].op == KILN_REDUCE_MEAN) {
        const kiln__lowered count = {.kind = KILN__LOWERED_CONST,
                                     .dtype = wide,
                                     .size = 1,
                                     .number = {.kind = 'i', .value.i = p->count},
                                     .origin = node};
        pair[1] = kiln__lowered_add(b, &count);
        pair[0] = kiln__lowered_op(b, node, KILN_OP_DIVIDE, pair, 2);
    }
    return kiln__lowered_cast(b, pair[0], dtype, node);
}

uint32_t kiln__reduce_pieces(kiln__build *b, uint32_t node)
{
    const kiln__node *n = &b->ir->nodes[node];
    const uint32_t from = b->ir->edges[n->operands];
    const kiln__pieces *p = b->lowering.pieces[from];
    const kiln_dtype dtype = b->lowering.dtype[from];
    kiln__axis_map map[KILN_RANK_MAX];
    int64_t shape[KILN_RANK_MAX];
    kiln_op op;

    if (p == NULL || n->dtype != KILN_DTYPE_NONE || strchr("bc", kiln_dtype_kind(dtype)) != NULL ||
        b->lowered[p->low[0]].dtype != dtype || n->all_axes || n->data_count != 1 ||
        !fold_of(n->op, &op))
        return 0;
    const int rank = b->lowered[p->low[0]].rank, axis = rank - 1 - p->back;
    if (kiln__lower_axis(b, node, b->ir->data[n->data], rank) != axis)
        return 0;
    const uint32_t whole =
        fold(b, node, p, op, kiln__reduce_result(kiln__reduce_row_find(n->op, dtype), dtype));
    if (n->keepdims)
        return whole;
    for (int a = 0; a < rank; a++) {
        map[a] = a == axis ? (kiln__axis_map){-1, 0, 0} : (kiln__axis_map){a - (a > axis), 0, 1};
        if (a != axis)
            shape[a - (a > axis)] = b->lowered[whole].shape[a];
    }
    return kiln__lowered_view(b, whole, rank - 1, shape, map, node);
}
