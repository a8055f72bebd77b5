/*
 * reshape.c - reshapes, moved to where they cost nothing.
 *
 * A reshape of an array whose strides allow it is a view. A reshape of something computed is the
 * same computation over reshaped operands, when all of those can be had for nothing; so it sinks
 * through operations until it meets arrays. Where it cannot, what is reshaped is stored in C-order
 * first, and the result is a view of that.
 */
#include "fusion/build.h"

/* The strides that C-order indices of `shape` have in a layout, when there are such (NumPy's
 * _attempt_nocopy_reshape). Both shapes have the same, nonzero number of elements. */
static bool reshape_strides(int rank, const int64_t *shape, const int64_t *strides, int64_t unit,
                            int new_rank, const int64_t *new_shape, int64_t *out)
{
    int64_t extent[KILN_RANK_MAX], stride[KILN_RANK_MAX];
    int count = 0, from = 0, to = 0;

    for (int a = 0; a < rank; a++) {
        if (shape[a] == 1)
            continue;
        extent[count] = shape[a];
        stride[count++] = strides[a];
    }
    while (from < count && to < new_rank) {
        int64_t have = extent[from], need = new_shape[to];
        int from_end = from + 1, to_end = to + 1;
        while (have != need) {
            if (have < need)
                have *= extent[from_end++];
            else
                need *= new_shape[to_end++];
        }
        for (int a = from; a + 1 < from_end; a++)
            if (stride[a] != extent[a + 1] * stride[a + 1])
                return false;
        out[to_end - 1] = stride[from_end - 1];
        for (int a = to_end - 1; a > to; a--)
            out[a - 1] = out[a] * new_shape[a];
        from = from_end;
        to = to_end;
    }
    for (; to < new_rank; to++) /* trailing ones */
        out[to] = unit;
    return true;
}

/* The map of a reshape that only drops, or inserts, axes of one index. */
static bool unit_map(const kiln__low *o, int rank, const int64_t *shape, kiln__axis_map *map)
{
    int at = 0;
    for (int a = 0; a < o->rank; a++) {
        map[a] = (kiln__axis_map){-1, 0, 0};
        if (o->shape[a] == 1)
            continue;
        while (at < rank && shape[at] == 1)
            at++;
        if (at == rank || shape[at] != o->shape[a])
            return false;
        map[a] = (kiln__axis_map){at++, 0, 1};
    }
    while (at < rank && shape[at] == 1)
        at++;
    return at == rank;
}

/* The reshaped low when it costs nothing, else 0. `origin` is the recorded reshape. */
static uint32_t sink(kiln__build *b, uint32_t low, int rank, const int64_t *shape, uint32_t origin)
{
    const kiln__low n = b->lows[low];
    kiln__axis_map map[KILN_RANK_MAX];
    int64_t strides[KILN_RANK_MAX];
    uint32_t operands[KILN__OP_ARITY_MAX];
    kiln__low made = n;

    if (unit_map(&n, rank, shape, map))
        return kiln__low_view(b, low, rank, shape, map, origin);
    made.rank = rank;
    made.shape = kiln__build_copy(b, shape, (size_t)rank * sizeof *shape);
    if (n.kind == KILN__LOW_LEAF || n.kind == KILN__LOW_IOTA) {
        const bool leaf = n.kind == KILN__LOW_LEAF;
        if (!reshape_strides(n.rank, n.shape, leaf ? n.strides : n.coef,
                             leaf ? (int64_t)kiln_dtype_size(n.dtype) : 0, rank, shape, strides))
            return 0;
        *(leaf ? &made.strides : &made.coef) =
            kiln__build_copy(b, strides, (size_t)rank * sizeof *strides);
        return kiln__low_add(b, &made);
    }
    if (n.kind != KILN__LOW_EXPR && n.kind != KILN__LOW_CAST)
        return 0;
    for (uint32_t k = 0; k < n.operand_count; k++) {
        const kiln__low *o = &b->lows[n.operand[k]];
        operands[k] = n.operand[k];
        if (o->size == 1 && n.size != 1)
            operands[k] = o->rank == 0 ? n.operand[k] : sink(b, n.operand[k], 0, NULL, origin);
        else if (kiln__same_shape(o->rank, o->shape, n.rank, n.shape))
            operands[k] = sink(b, n.operand[k], rank, shape, origin);
        else
            return 0;
        if (operands[k] == 0)
            return 0;
    }
    made.operand = kiln__build_copy(b, operands, n.operand_count * sizeof *operands);
    return kiln__low_add(b, &made);
}

uint32_t kiln__lower_reshape(kiln__build *b, uint32_t node, uint32_t operand)
{
    const kiln__node *n = &b->ir->nodes[node];
    const kiln__low o = b->lows[operand];
    const int rank = (int)n->data_count;
    int64_t shape[KILN_RANK_MAX], known = 1;
    int open = -1;

    memcpy(shape, b->ir->data + n->data, (size_t)rank * sizeof *shape);
    for (int a = 0; a < rank; a++) {
        if (shape[a] == -1 && open >= 0)
            kiln__build_fail(b, node, KILN_ERR_SHAPE, "two extents are -1");
        if (shape[a] == -1)
            open = a;
        else if (kiln__mul_overflow(known, shape[a], &known))
            known = 0;
    }
    if (open >= 0)
        shape[open] = known > 0 ? o.size / known : 0;
    if (kiln__low_size(b, node, rank, shape, o.dtype) != o.size)
        kiln__build_fail(b, node, KILN_ERR_SHAPE, "%s cannot be %s",
                         kiln__build_shape(b, o.rank, o.shape),
                         kiln__build_shape(b, rank, b->ir->data + n->data));
    if (o.size > 0) {
        const uint32_t low = sink(b, operand, rank, shape, node);
        if (low != 0)
            return low;
    }
    const uint32_t kept = kiln__low_store(b, operand, node);
    b->lows[kept].c_order = true;
    const kiln__low made = {.kind = KILN__LOW_RESHAPED,
                            .dtype = o.dtype,
                            .rank = rank,
                            .shape = kiln__build_copy(b, shape, (size_t)rank * sizeof *shape),
                            .size = o.size,
                            .operand = kiln__build_copy(b, &kept, sizeof kept),
                            .operand_count = 1,
                            .origin = node};
    return kiln__low_add(b, &made);
}
